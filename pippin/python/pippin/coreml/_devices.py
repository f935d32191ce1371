"""Compute devices: only the CPU. The other classes exist for programs that derive from them."""


class _MLCPUComputeDeviceProxy:
    pass


class _MLGPUComputeDeviceProxy:
    pass


class _MLNeuralEngineComputeDeviceProxy:
    def get_total_core_count(self):
        return 0
