"""Files of other tools: functions of bytes that return what they hold."""
