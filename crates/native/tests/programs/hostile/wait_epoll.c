#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void) { struct epoll_event e; return epoll_wait(epoll_create1(0), &e, 1, -1); }
