"""Published points, the emulator's error on them, and the bands that follow."""
