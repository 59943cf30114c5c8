// Pipes between processes: each closes its own descriptors, and an end that nobody has any more is closed.
// check: --checks crash
// exit: 0
// check: --checks crash -DKEEPS
// exit: 100
// finds: deadlock
// check: --checks crash -DTWO
// exit: 0
// check: --checks crash -DTWO -DORDERED
// exit: 100
// finds: assertion `text[0] == 'a'` is false
// check: --checks crash -DEXITS
// exit: 0
// check: --checks crash -DCLOSED
// exit: 0
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
  int ends[2];
  assert(pipe(ends) == 0);
  int children = 1;
#ifdef TWO
  children = 2;
#endif
  for (int i = 0; i < children; i++)
    if (fork() == 0) {
      char letter = "ab"[i];
      close(ends[0]);
      assert(write(ends[1], &letter, 1) == 1);
#ifdef CLOSED
      char none;
      assert(read(ends[0], &none, 1) == -1 && errno == EBADF);
#endif
#ifdef EXITS
      close(ends[1]);
      exit(0);
#endif
      _exit(0);
    }
#ifndef KEEPS
  close(ends[1]);
#endif
  char text[4];
  int length = 0;
  for (;;) {
    ssize_t got = read(ends[0], text + length, 1);
    if (got <= 0)
      break;
    length += 1;
  }
  assert(length == children);
#ifdef ORDERED
  assert(text[0] == 'a');
#endif
  for (int i = 0; i < children; i++)
    assert(wait(0) > 0);
  assert(wait(0) == -1 && errno == ECHILD);
  return 0;
}
