// Memory that changes under other threads concerns those that touch it (mappings.c); here nobody does, or not all of it is seen: long
// ranges, and memory at two addresses.
// check: --checks crash -DUNMAPS
// exit: 0
// check: --checks crash -DPROTECTS
// exit: 0
// check: --checks crash -DMOVES
// exit: 0
// check: --checks crash -DEMPTIES
// exit: 0
// check: --checks crash -DBY_NUMBER
// exit: 0
// check: --checks crash -DREPLACES
// exit: 0
// check: --checks crash -DLONG
// exit: 5
// limit: unseen
// note: `munmap` while several threads are alive
// check: --checks crash -DALIAS
// exit: 5
// limit: unseen
// note: `mmap` while several threads are alive
// check: --checks crash -DALIAS -DMAPPED_BEFORE
// exit: 5
// limit: unseen
// check: --checks crash -DADVISES
// exit: 0
// check: --checks crash -DALONE
// exit: 0
// check: --checks crash -DLIBRARY
// exit: 0
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static char *page;
static void change(void) {
#if defined UNMAPS || defined ALONE
  munmap(page + 4096, 4096);
#elif defined LONG
  munmap(page + 4096, 2 << 20);
#elif defined PROTECTS
  mprotect(page + 4096, 4096, PROT_READ);
#elif defined MOVES
  page = mremap(page, 8192, 16384, MREMAP_MAYMOVE);
#elif defined EMPTIES
  madvise(page, 4096, MADV_DONTNEED);
#elif defined BY_NUMBER
  syscall(SYS_munmap, page + 4096, 4096);
#elif defined REPLACES
  mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
#elif defined ADVISES
  madvise(page, 4096, MADV_WILLNEED);
  munlock(page, 4096);
#endif
}
#ifdef ALIAS
static int file;
static volatile int *seen;
static int *map(void) { return mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0); }
#ifdef MAPPED_BEFORE
static volatile int *other;
#else
#define other map()
#endif
#endif
static void *work(void *unused) {
#ifdef ALIAS
  *other = 1;
#endif
#ifdef LIBRARY
  // What libc does for itself.
  char *large = malloc(8 << 20);
  memset(large, 1, 4096);
  FILE *null = fopen("/dev/null", "w");
  fprintf(null, "%s", "text");
  fclose(null);
  large = realloc(large, 16 << 20);
  free(large);
  void *more = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return more == MAP_FAILED ? (void *)1 : 0;
#endif
  return 0;
}
int main(void) {
  page = mmap(0, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#ifdef ALONE
  mprotect(page, 4096, PROT_READ);
#endif
#ifdef ALIAS
  file = memfd_create("memory", 0);
  ftruncate(file, 4096);
  seen = map();
#ifdef MAPPED_BEFORE
  other = map();
#endif
#endif
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
#ifndef ALONE
  change();
#endif
#ifdef ALIAS
  if (*seen > 1) abort();
#endif
  void *answer;
  pthread_join(thread, &answer);
#ifdef ALONE
  change();
#endif
  return answer != 0;
}
