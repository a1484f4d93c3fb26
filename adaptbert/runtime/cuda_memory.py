"""The number of CUDA devices, and of each the bytes that are free and all that it has, for a process without torch.

python -m adaptbert.runtime.cuda_memory
"""

from torch import cuda

if __name__ == "__main__":
    print(cuda.device_count(), flush=True)  # also where a device then says nothing
    for number in range(cuda.device_count()):
        print(*cuda.mem_get_info(number))
