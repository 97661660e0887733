"""One thread: for tiny tensors it is several times faster, and hosts compute with one too."""

import torch

torch.set_num_threads(1)
