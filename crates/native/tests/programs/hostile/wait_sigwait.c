#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void) { sigset_t s; int n; sigemptyset(&s); sigaddset(&s, SIGUSR1); return sigwait(&s, &n); }
