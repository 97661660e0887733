"""Optional kernels of the paged layouts."""

from tensorrt_llm._torch.flashinfer_utils import IS_FLASHINFER_AVAILABLE


def get_dflash_paged_append():
    if not IS_FLASHINFER_AVAILABLE:
        raise RuntimeError("a paged context needs flashinfer")
    import flashinfer

    return flashinfer.page.append_paged_kv_cache
