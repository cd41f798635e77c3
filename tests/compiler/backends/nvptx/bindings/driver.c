/* A CUDA driver without a GPU: every call goes to a function that Python gives, with its name and its arguments. */

#include <stdint.h>
#include <string.h>

typedef int (*handler_t)(const char *name, const uint64_t *arguments);
static handler_t handler;

void set_handler(handler_t given) { handler = given; }

/* All arguments are integers or pointers, and the caller takes away what it has put on the stack. */
#define CALLS(X) \
  X(cuInit) X(cuDeviceGet) X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxRetain) X(cuCtxSetCurrent) X(cuCtxPushCurrent) \
  X(cuCtxPopCurrent) X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamWaitEvent) X(cuEventCreate) \
  X(cuEventDestroy) X(cuEventRecord) X(cuEventSynchronize) X(cuEventElapsedTime) X(cuMemAlloc) X(cuMemFree) \
  X(cuMemHostAlloc) X(cuMemFreeHost) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoHAsync) X(cuMemcpyDtoDAsync) \
  X(cuModuleLoadDataEx) X(cuModuleUnload) X(cuModuleGetFunction) X(cuFuncSetAttribute) X(cuLaunchKernel) \
  X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuGraphInstantiate) X(cuGraphInstantiateWithFlags) X(cuGraphDestroy) \
  X(cuGraphExecDestroy) X(cuGraphLaunch) X(cuGetErrorString)

#define DEFINE(name)                                                                                              \
  static int call_##name(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,      \
                         uint64_t h, uint64_t i, uint64_t j, uint64_t k) {                                        \
    const uint64_t arguments[] = {a, b, c, d, e, f, g, h, i, j, k};                                               \
    return handler(#name, arguments);                                                                             \
  }
CALLS(DEFINE)

#define ROW(name) {#name, (void *)call_##name},
static const struct {
  const char *name;
  void *call;
} table[] = {CALLS(ROW)};

int cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}

/* How the bindings find every other call. */
int cuGetProcAddress_v2(const char *name, void **call, int version, uint64_t flags, int *status) {
  *call = strcmp(name, "cuDriverGetVersion") ? NULL : (void *)cuDriverGetVersion;
  for (unsigned row = 0; row < sizeof table / sizeof *table; ++row)
    if (!strcmp(name, table[row].name)) *call = table[row].call;
  if (status) *status = *call ? 0 : 1;
  return *call ? 0 : 500;
}

int cuGetProcAddress(const char *name, void **call, int version, uint64_t flags) {
  return cuGetProcAddress_v2(name, call, version, flags, 0);
}
