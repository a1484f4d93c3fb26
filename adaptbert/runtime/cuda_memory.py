"""The number of CUDA devices with the UUID of each, then of each the bytes that are free and all that it has, for a
process without torch.

python -m adaptbert.runtime.cuda_memory
"""

from torch import cuda

if __name__ == "__main__":
    devices = range(cuda.device_count())
    print(len(devices), end=" ", flush=True)  # also where a device then says nothing
    print(*(cuda.get_device_properties(each).uuid for each in devices), flush=True)
    for each in devices:
        print(*cuda.mem_get_info(each))
