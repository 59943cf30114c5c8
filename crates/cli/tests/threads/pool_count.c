// A log in a pool file, shared by two threads: a record counts once it is durable.
// check: --pm-dir {pool} -DLOG="{pool}/log"
// exit: 0
// check: --pm-dir {pool} -DLOG="{pool}/log" --model sc
// exit: 0
// check: --pm-dir {pool} -DLOG="{pool}/log" -DMSYNC
// exit: 0
// check: --pm-dir {pool} -DLOG="{pool}/log" -DCOUNT_FIRST
// exit: 100
// finds: assertion `log->record[i].value == 7` is false
// check: --pm-dir {pool} -DLOG="{pool}/log" -DCOUNT_FIRST --model sc
// exit: 100
// finds: assertion `log->record[i].value == 7` is false
// check: --pm-dir {pool} -DLOG="{pool}/log" -DCOUNT_FIRST --platform eadr
// exit: 100
// finds: assertion `log->record[i].value == 7` is false
// check: --pm-dir {pool} -DLOG="{pool}/log" --failures 2 --checks crash
// exit: 0
#include <assert.h>
#include <fcntl.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
struct log {
  _Atomic long count;
  struct {
    _Alignas(64) _Atomic long value;
  } record[2];
};
static struct log *log;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void persist(void *at, size_t bytes) {
#ifdef MSYNC
  msync((void *)((unsigned long)at & -4096), 4096, MS_SYNC);
#else
  lf_persist(at, bytes);
#endif
}
static void *append(void *unused) {
  pthread_mutex_lock(&lock);
  long n = log->count;
#ifdef COUNT_FIRST
  atomic_store_explicit(&log->count, n + 1, memory_order_release);
  persist((void *)&log->count, 8);
#endif
  atomic_store_explicit(&log->record[n].value, 7, memory_order_release);
  persist((void *)&log->record[n], 8);
#ifndef COUNT_FIRST
  atomic_store_explicit(&log->count, n + 1, memory_order_release);
  persist((void *)&log->count, 8);
#endif
  pthread_mutex_unlock(&lock);
  return unused;
}
int main(void) {
  int fd = open(LOG, O_RDWR | O_CREAT, 0600);
  struct stat about;
  fstat(fd, &about);
  if (about.st_size == 0) ftruncate(fd, 4096);
  log = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (lf_failures()) {
    for (long i = 0; i < log->count; i++) assert(log->record[i].value == 7);
    return 0;
  }
  pthread_t a, b;
  pthread_create(&a, 0, append, 0);
  pthread_create(&b, 0, append, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  assert(log->count == 2);
  return 0;
}
