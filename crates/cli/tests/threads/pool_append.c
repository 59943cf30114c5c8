// write, read and friends from two threads: each call is seen whole by the other's calls, and bytes are what they are for mappings.
// check: --checks crash,data-races --pm-dir {pool} -DDIR="{pool}/"
// exit: 0
// check: --checks crash,data-races --pm-dir {pool} -DDIR="{pool}/" --model sc
// exit: 0
// check: --checks crash,data-races --pm-dir {pool} -DDIR="{pool}/" -DNO_SYNC
// exit: 100
// finds: assertion `length >= 2
// check: --checks crash,data-races --pm-dir {pool} -DDIR="{pool}/" -DEXCLUSIVE
// exit: 0
// check: --checks crash,data-races --pm-dir {pool} -DDIR="{pool}/" -DRACE
// exit: 100
// finds: data-race
// finds: assertion `*seen == 0` is false
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <landfall.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
static long *durable;
static atomic_int created;
static void *append(void *letter) {
#ifdef EXCLUSIVE
  int fd = open(DIR "lock", O_RDWR | O_CREAT | O_EXCL, 0600);
  assert(fd >= 0 || errno == EEXIST);
  if (fd >= 0) {
    int before = atomic_fetch_add(&created, 1);
    assert(before == 0);
    atomic_fetch_sub(&created, 1);
    unlink(DIR "lock");
    close(fd);
  }
#else
  int fd = open(DIR "log", O_WRONLY | O_APPEND);
  char text[8] = {(long)letter, (long)letter};
  assert(write(fd, text, 2) == 2);
#ifndef NO_SYNC
  assert(fsync(fd) == 0);
#endif
  if (letter == (void *)'b') {
    *durable = 1;
    lf_persist(durable, 8);
  }
  close(fd);
#endif
  return 0;
}
#ifdef RACE
static void *look(void *at) {
  char *seen = at;
  assert(*seen == 0);
  return 0;
}
#endif
int main(void) {
  durable = lf_pm(8);
  int fd = open(DIR "log", O_RDWR | O_CREAT, 0600);
  struct stat about;
  char all[8] = {0};
  if (lf_failures()) {
    ssize_t length = pread(fd, all, 8, 0);
    assert(length % 2 == 0 && length <= 4);
    if (*durable) {
      char record = all[0];
      assert(length >= 2 && (record == 'a' || record == 'b'));
    }
    return 0;
  }
  pthread_t a, b;
#ifdef RACE
  ftruncate(fd, 64);
  void *mapped = mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0);
  pthread_create(&a, 0, look, (char *)mapped + 64);
#else
  pthread_create(&a, 0, append, (void *)'a');
#endif
  pthread_create(&b, 0, append, (void *)'b');
  pthread_join(a, 0);
  pthread_join(b, 0);
#ifndef EXCLUSIVE
  assert(fstat(fd, &about) == 0 && about.st_size % 2 == 0);
#ifndef RACE
  assert(about.st_size == 4 && pread(fd, all, 8, 0) == 4);
  assert(all[0] == all[1] && all[2] == all[3] && all[0] != all[2]);
#endif
#endif
  return 0;
}
