// Copies checked by libc's _FORTIFY_SOURCE: the copy is seen, the check still ends the program.
#include "pm.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static __attribute__((noinline)) void *copy(void *to, const void *from, size_t n, size_t room) {
  return __builtin___memcpy_chk(to, from, n, room);
}

int main(void) {
  size_t room = 64;
  __asm__("" : "+r"(room));
  assert(copy(pm(0), "abcdefg", 8, room) == pm(0));
  __builtin___memset_chk(pm(8), 1, 8, room);
  __builtin___memmove_chk(pm(4), pm(0), 8, room);
  if (fork() == 0) {
    close(2);
    copy(pm(0), "abcdefg", 8, room - 60);
    _exit(0);
  }
  int status;
  wait(&status);
  assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  return 0;
}
