"""The factories of a small engine, with the names of TensorRT-LLM's."""

# ruff: noqa: TID252  # the package is another one where it is laid

from ..pyexecutor.guided_decoder import GuidedDecoder
from . import dspark as _dspark
from .dflash import DFlashSpecMetadata, DFlashWorker
from .dspark import DSparkSpecMetadata
from .eagle3 import Eagle3SpecMetadata

OTHER_MODES = (GuidedDecoder, Eagle3SpecMetadata)


def get_spec_metadata(spec_config, model_config, max_num_requests, max_num_tokens, num_seq_slots=None):
    mode = spec_config.spec_dec_mode
    embedded = mode.is_dspark() and spec_config.draft_is_embedded_in_target
    return (DSparkSpecMetadata if embedded else DFlashSpecMetadata)(
        max_num_requests=max_num_requests,
        max_draft_len=spec_config.max_draft_len,
        max_total_draft_tokens=spec_config.tokens_per_gen_step - 1,
        spec_dec_mode=mode,
        num_seq_slots=num_seq_slots or 0,
        layers_to_capture=spec_config.target_layer_ids,
        hidden_size=model_config.hidden_size,
        max_num_tokens=max_num_tokens,
        dtype=model_config.torch_dtype,
    )


def get_spec_worker(spec_config, model_config, mapping, use_separate_draft_kv_cache=False):
    del model_config
    if spec_config.spec_dec_mode.is_dflash():
        worker = DFlashWorker
    elif spec_config.draft_is_embedded_in_target:
        worker = _dspark.DSv4DSparkWorker
    else:
        worker = _dspark.DSparkWorker
    return worker(spec_config, mapping, use_separate_draft_kv_cache)
