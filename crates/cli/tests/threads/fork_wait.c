// How children end, and who is waited for: any of them may be the first.
// check: --checks crash
// exit: 0
// check: --checks crash -DORDERED
// exit: 100
// finds: assertion `first == children[0]` is false
// check: --checks crash -DNESTED
// exit: 0
// check: --checks crash -DSTAYS
// exit: 0
// check: --checks crash -DNOHANG
// exit: 2
// says: whether a child has ended yet is no step
// check: --checks crash -DABORTS
// exit: 100
// finds: abort
// check: --checks crash -DTHREADS
// exit: 2
// says: each has one thread only
// check: --checks crash -DOTHERS
// exit: 2
// says: signals another process
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void *run(void *argument) { return argument; }

int main(void) {
  pid_t children[2];
  atomic_int *go = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < 2; i++) {
    children[i] = fork();
    if (children[i] == 0) {
#ifdef STAYS
      // The first ends when the parent has been told of the second.
      if (i == 0)
        while (!atomic_load(go))
          ;
#endif
#ifdef NESTED
      pid_t grandchild = fork();
      if (grandchild == 0)
        exit(40 + i);
      int how;
      assert(waitpid(grandchild, &how, 0) == grandchild && WEXITSTATUS(how) == 40 + i);
#endif
#ifdef ABORTS
      abort();
#endif
#ifdef THREADS
      pthread_t thread;
      pthread_create(&thread, 0, run, 0);
#endif
      if (i == 1)
        raise(SIGKILL);
      return 7;
    }
  }
#ifdef OTHERS
  kill(children[0], SIGTERM);
#endif
#ifdef NOHANG
  waitpid(-1, 0, WNOHANG);
#endif
  int status;
  pid_t first = wait(&status);
  atomic_store(go, 1);
  assert(first == children[0] || first == children[1]);
#ifdef ORDERED
  assert(first == children[0]);
#endif
  if (first == children[0])
    assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  else
    assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  siginfo_t told;
  assert(waitid(P_ALL, 0, &told, WEXITED) == 0);
  assert(told.si_pid != first && told.si_signo == SIGCHLD);
  assert(wait(0) == -1 && errno == ECHILD);
  return 0;
}
