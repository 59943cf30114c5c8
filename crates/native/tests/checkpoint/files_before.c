/* went on: no. A file is open when the first thread is created, and the threads write to it. */
#include <landfall.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static long *pm;
static volatile long last;
static long table[8000];
static int file;

static void *work(void *argument) {
  last = (long)argument;
  long number = (long)argument;
  pm[8 * number] = number;
  lf_persist(&pm[8 * number], 8);
  char one = '0' + number;
  pwrite(file, &one, 1, number);
  return 0;
}

int main(void) {
  pm = lf_pm(4096);
  for (int i = 0; i < 8000; i++) table[i] = i;
  file = open("some-file", O_RDWR | O_CREAT | O_TRUNC, 0600);
  write(file, "hello", 5);
  pthread_t threads[2];
  for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void *)(i + 1));
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  char all[6] = {0};
  pread(file, all, 5, 0);
  puts(all);
  return 0;
}
