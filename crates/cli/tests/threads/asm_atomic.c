// Concurrency Kit and kernels write atomics as volatile accesses and inline assembly.
// check: -DVOLATILE
// exit: 100
// finds: data-race
// check: --asm-atomic -DVOLATILE
// exit: 0
// check: -DASSEMBLY
// exit: 100
// finds: data-race
// check: --asm-atomic -DASSEMBLY
// exit: 0
// check: --asm-atomic -DASSEMBLY -DREVERSED
// exit: 100
// finds: data-race `data`
// check: --asm-atomic -DSTRUCT
// exit: 100
// finds: data-race
#include <assert.h>
#include <pthread.h>
static int data;
#ifdef STRUCT
static volatile struct { int a[3]; } flag, one = {{1}};
#define SET flag = one
#define GET flag.a[0]
#elif defined(VOLATILE)
static volatile int flag;
#define SET flag = 1
#define GET flag
#else
static int flag;
static inline int get(void) {
  int value;
  __asm__ __volatile__("movl %1, %0" : "=r"(value) : "m"(flag) : "memory");
  return value;
}
static inline void set(void) { __asm__ __volatile__("movl %1, %0" : "=m"(flag) : "r"(1) : "memory"); }
#define SET set()
#define GET get()
#endif
static void *writes(void *_) {
#ifdef REVERSED
  SET;
  data = 1;
#else
  data = 1;
  SET;
#endif
  return 0;
}
int main() {
  pthread_t p;
  pthread_create(&p, 0, writes, 0);
  if (GET) {
#ifdef REVERSED
    (void)*(volatile int *)&data;
    int seen = data;
    (void)seen;
#else
    assert(data == 1);
#endif
  }
  pthread_join(p, 0);
  return 0;
}
