#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void) { int a = open("/tmp/landfall-lock", O_CREAT | O_RDWR, 0600), b = open("/tmp/landfall-lock", O_RDWR); flock(a, LOCK_EX); return flock(b, LOCK_EX); }
