"""One NKI kernel of anybody, emulated: its time, its shares of peaks, its lines."""
