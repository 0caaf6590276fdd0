"""What comes from outside, within bounds: numbers, words, files and documents of others."""
