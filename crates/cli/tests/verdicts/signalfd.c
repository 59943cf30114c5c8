// Signals that are read from a descriptor: once an assertion that cannot fail was said to.
// check: --checks crash
// exit: 0
#include <assert.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

int main(void) {
    sigset_t some;
    sigemptyset(&some);
    sigaddset(&some, SIGUSR1);
    sigprocmask(SIG_BLOCK, &some, 0);
    int descriptor = signalfd(-1, &some, 0);
    raise(SIGUSR1);
    struct signalfd_siginfo said;
    assert(read(descriptor, &said, sizeof said) == sizeof said);
    assert(said.ssi_signo == SIGUSR1);
}
