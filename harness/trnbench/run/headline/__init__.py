"""What a run says first: one line for each question and machine, the same words wherever it is printed."""
