// What several threads leave in files or in libc, and who looks at it when they are joined: what came last is not in any step.
// check: --checks crash -DENVIRONMENT
// exit: 5
// limit: unseen
// check: --checks crash -DCONTENT
// exit: 5
// limit: unseen
// check: --checks crash -DSTREAM
// exit: 5
// limit: unseen
// check: --checks crash -DACTION
// exit: 5
// limit: unseen
// check: --checks crash -DDIRECTORY
// exit: 5
// limit: unseen
// check: --checks crash -DSPELLING
// exit: 5
// limit: unseen
// check: --checks crash -DCONTENT -DONE
// exit: 0
// check: --checks crash -DENVIRONMENT -DONE
// exit: 0
// check: --checks crash -DCONTENT -DONE_BY_ONE
// exit: 0
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int file;
static FILE *stream;
static void one(int signal) { (void)signal; }
static void two(int signal) { (void)signal; }
static void *use(void *who) {
  int second = who != 0;
#ifdef ONE
  if (second) return 0;
#endif
#if defined ENVIRONMENT
  setenv("NAME", second ? "b" : "a", 1);
#elif defined CONTENT
  if (pwrite(file, second ? "b" : "a", 1, 0) != 1) abort();
#elif defined STREAM
  fputs(second ? "b" : "a", stream);
#elif defined ACTION
  signal(SIGUSR1, second ? one : two);
#elif defined DIRECTORY
  if (second ? chdir("/") : open("no such file", O_RDONLY) >= 0) abort();
#elif defined SPELLING
  if (second) open("./unseen_later.tmp", O_RDWR | O_CREAT, 0600);
  else access("unseen_later.tmp", F_OK);
#endif
  return 0;
}
int main(void) {
  file = open("unseen_later.data", O_RDWR | O_CREAT, 0600);
  stream = tmpfile();
  pthread_t a, b;
  pthread_create(&a, 0, use, 0);
#ifdef ONE_BY_ONE
  pthread_join(a, 0);
#endif
  pthread_create(&b, 0, use, &b);
#ifndef ONE_BY_ONE
  pthread_join(a, 0);
#endif
  pthread_join(b, 0);
  char byte = 0;
  if (pread(file, &byte, 1, 0) < 0 || getenv("NAME") == &byte) abort();
  rewind(stream);
  if (fgetc(stream) == 'z') abort();
  signal(SIGUSR2, SIG_IGN);
#ifdef ACTION
  raise(SIGUSR1);
#endif
  return 0;
}
