# What the run consists of. Each can be set before `submit`, whose environment the jobs inherit.
: "${LIST:=test_lists/test-db/l0_h100.yml}"
: "${CONTEXT:=l0_h100}"
: "${MATCH:=stage=pre_merge,backend=pytorch,gpu=H100,system_gpu_count=1}"
: "${WAIVES:=test_lists/waives.txt}"
: "${DURATIONS:=ci/durations.json}"
: "${DEVICE:=cuda}"
