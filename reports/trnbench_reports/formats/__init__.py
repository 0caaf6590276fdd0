"""Output formats: functions of runs that return bytes."""
