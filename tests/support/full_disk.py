"""Run as a program: the tiny machine on a disk that is full at some byte of each file.

The limit on the size of files stands for the disk: reserving and writing fail beyond it, with EFBIG
in place of ENOSPC, for the journal and for the database alike.
"""

from __future__ import annotations

import os
import resource
import sys

import tiny_machine

if __name__ == "__main__":
    room = int(os.environ["TINY_ROOM"])
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    sys.argv[0] = "trnbench"
    tiny_machine.main(*os.environ["TINY_MODES"].split(","))
