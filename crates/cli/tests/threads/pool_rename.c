// Two threads write a file each and give it one name: whoever is last, the name stands for a whole file.
// check: --checks crash --pm-dir {pool} -DDIR="{pool}/"
// exit: 0
// check: --checks crash --pm-dir {pool} -DDIR="{pool}/" --model sc
// exit: 0
// check: --checks crash --pm-dir {pool} -DDIR="{pool}/" -DEARLY
// exit: 100
// finds: assertion `value == 1 || value == 2` is false
// check: --checks crash --pm-dir {pool} -DDIR="{pool}/" -DEARLY --model sc
// exit: 100
// finds: assertion `value == 1 || value == 2` is false
// check: --checks crash --pm-dir {pool} -DDIR="{pool}/" -DUNLINK
// exit: 100
// finds: assertion `file >= 0` is false
#include <assert.h>
#include <fcntl.h>
#include <landfall.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
static long *map(int fd) { return mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); }
static void *write_one(void *number) {
  long i = (long)number;
  const char *name = i == 1 ? DIR "1" : DIR "2";
  int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
  ftruncate(fd, 4096);
  long *value = map(fd);
#ifdef EARLY
  rename(name, DIR "it");
#endif
  *value = i;
  lf_persist(value, 8);
#ifdef UNLINK
  unlink(DIR "it");
#endif
#ifndef EARLY
  rename(name, DIR "it");
#endif
  return 0;
}
int main(void) {
  long *marks = lf_pm(8);
  int file = open(DIR "it", O_RDWR);
  if (lf_failures()) {
    // After both, or after one: the name never goes away.
    if (*marks) assert(file >= 0);
    struct stat about;
    if (file >= 0 && fstat(file, &about) == 0) {
      assert(about.st_size == 4096);
      long value = *map(file);
      assert(value == 1 || value == 2);
    }
    return 0;
  }
  pthread_t a, b;
  write_one((void *)1);
  *marks = 1;
  lf_persist(marks, 8);
  pthread_create(&a, 0, write_one, (void *)2);
  pthread_create(&b, 0, write_one, (void *)1);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
