// Parent and child over memory that both have: what is mapped shared is one, all else each has for itself.
// also: --equivalence reads
// check: --checks crash
// exit: 0
// check: --checks crash -O2
// exit: 0
// check: --checks crash --model tso
// exit: 0
// check: --checks crash -DTAKES_APART
// exit: 100
// finds: assertion `atomic_load(&both->count) == 2` is false
// check: -DPLAIN
// exit: 100
// finds: data-race
// check: --checks crash -DNO_WAIT
// exit: 100
// finds: assertion `atomic_load(&both->count) == 2` is false
// check: --checks crash -DPRIVATE
// exit: 100
// finds: assertion `own == 12` is false
// check: --checks crash -DFREES
// exit: 0
// check: -DFREES_TWICE
// exit: 100
// finds: double-free
// check: --checks crash -DFAILS
// exit: 100
// finds: assertion `own == 2` is false
// check: --checks crash -DUNMAPS
// exit: 2
// says: not modelled while there are several processes
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct both {
  atomic_long count;
  long plain;
};

static struct both *both;
static long own = 1;

static void add(void) {
#ifdef TAKES_APART
  long seen = atomic_load(&both->count);
  atomic_store(&both->count, seen + 1);
#else
  atomic_fetch_add(&both->count, 1);
#endif
#ifdef PLAIN
  both->plain = both->plain + 1;
#endif
}

int main(void) {
  both = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  long *block = malloc(sizeof *block);
  long local = 5;
  *block = 7;
  pid_t child = fork();
  assert(child >= 0);
  if (child == 0) {
    own += 1;
    local += 1;
    *block += 1;
    assert(getppid() != getpid());
#ifdef FAILS
    own += 1;
#endif
    assert(own == 2);
    assert(local == 6 && *block == 8);
#ifdef FREES
    free(block);
#endif
    add();
#ifdef UNMAPS
    munmap(both, 4096);
#endif
    _exit(3);
  }
  own += 10;
  local += 10;
  *block += 10;
  add();
#ifndef NO_WAIT
  int status;
  assert(waitpid(child, &status, 0) == child);
  assert(WIFEXITED(status) && WEXITSTATUS(status) == 3);
#endif
  assert(atomic_load(&both->count) == 2);
#ifdef PRIVATE
  assert(own == 12);
#else
  assert(own == 11);
#endif
  assert(local == 15 && *block == 17);
  free(block);
#ifdef FREES_TWICE
  free(block);
#endif
  return 0;
}
