"""What the adapters of engines share: strict stand-ins, reading of sources, kernels on a CPU, the toy rule."""
