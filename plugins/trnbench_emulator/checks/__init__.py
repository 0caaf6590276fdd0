"""What the emulator checks of plugins."""
