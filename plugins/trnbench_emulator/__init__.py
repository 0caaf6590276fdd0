"""The backend "emulated": NKI kernels instruction by instruction, collectives as flows on links."""
