// Threads that meet in files, or in what libc keeps: no step of a schedule says in which order.
// check: --checks crash -DPIPE
// exit: 0
// check: --checks crash -DREADS
// exit: 5
// limit: unseen
// note: several threads use this file, pipe or socket
// check: --checks crash -DNAMES
// exit: 5
// limit: unseen
// check: --checks crash -DRAND
// exit: 5
// limit: unseen
// note: `rand`: several threads use what libc keeps for it
// check: --checks crash -DENVIRONMENT
// exit: 5
// limit: unseen
// check: --checks crash -DTABLE
// exit: 5
// limit: unseen
// note: `hsearch`: several threads use what libc keeps for it
// check: --checks crash -DONE_RAND
// exit: 0
// check: --checks crash -DPRINTS
// exit: 0
// check: --checks crash -DOWN_FILES
// exit: 0
// check: --checks crash -DLOOK_ONLY
// exit: 0
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int ends[2], shared;
static void use(int who) {
  char byte = 0;
#if defined PIPE
  if (who) write(ends[1], &byte, 1);
#elif defined READS
  if (read(shared, &byte, 1) < 0) abort();
#elif defined NAMES
  if (who) close(open("made-by-a-thread", O_CREAT | O_WRONLY, 0600));
  else access("made-by-a-thread", F_OK);
#elif defined RAND
  rand();
#elif defined ENVIRONMENT
  if (who) setenv("NAME", "value", 1);
  else getenv("NAME");
#elif defined TABLE
  hsearch((ENTRY){who ? "one" : "other", 0}, ENTER);
#elif defined ONE_RAND
  if (who) rand();
#elif defined PRINTS
  printf("%d\n", who);
  fflush(stdout);
  write(2, "text", 4);
#elif defined OWN_FILES
  char name[] = "made-by-0";
  name[8] += who;
  int file = open(name, O_CREAT | O_RDWR, 0600);
  write(file, name, 4);
  lseek(file, 0, SEEK_SET);
  if (read(file, &byte, 1) != 1 || byte != 'm') abort();
  close(file);
#elif defined LOOK_ONLY
  int file = open("/dev/null", O_RDONLY);
  read(file, &byte, 1);
  close(file);
  getenv("PATH");
#endif
}
static void *work(void *unused) {
  use(1);
  return 0;
}
int main(void) {
#ifdef TABLE
  hcreate(8);
#endif
#ifdef PIPE
  pipe(ends);
#endif
  shared = open("/etc/passwd", O_RDONLY);
  rand();
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  use(0);
  pthread_join(thread, 0);
  return 0;
}
