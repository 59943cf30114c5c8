// A power failure in a handler, or between what it stores and what its thread does.
// check: --checks crash
// exit: 100
// finds: assertion
// check: --checks crash -DFLUSHES
// exit: 0
// check: --checks crash -DINSIDE
// exit: 100
// finds: assertion
#include <assert.h>
#include <immintrin.h>
#include <landfall.h>
#include <signal.h>
#include <unistd.h>
static struct data {
  _Alignas(64) volatile int value;
  _Alignas(64) volatile int valid;
  _Alignas(64) volatile int half;
} *data;
static void persist(volatile void *at) {
  _mm_clflush((void *)at);
  _mm_sfence();
}
static void handle(int signal) {
#ifdef INSIDE
  // Both, or none.
  data->half = 1;
  persist(&data->half);
  data->half = 2;
  persist(&data->half);
#else
  // Whatever the thread was at: valid means that the value is there.
  if (data->value) {
#ifdef FLUSHES
    persist(&data->value);
#endif
    data->valid = 1;
    persist(&data->valid);
  }
#endif
}
int main(void) {
  data = lf_pm(sizeof *data);
  if (lf_failures() > 0) {
    assert(!data->valid || data->value);
    assert(data->half != 1);
    return 0;
  }
  signal(SIGALRM, handle);
  alarm(1);
  data->value = 7;
  persist(&data->value);
  return 0;
}
