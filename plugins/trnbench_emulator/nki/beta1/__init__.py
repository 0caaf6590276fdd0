"""NKI Beta 1 (`neuronxcc.nki`, SDK 2.26 and before): its calls return tiles, its indices are arrays.

Every call becomes an instruction of today's NKI with a destination. Where the compiler of Beta 1 decides
(which tile a result goes to, where tiles lie), docs/nki.md says what stands for its decision.
"""

from __future__ import annotations
