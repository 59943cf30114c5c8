#include <assert.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
/* A timeout is virtual time. */
int main(void) {
    time_t start = time(0);
    struct epoll_event e;
    struct timeval tv = {1000, 0};
    struct pollfd f = {0, 0, 0};
    assert(poll(&f, 0, 1000000) == 0 && time(0) - start >= 1000);
    assert(epoll_wait(epoll_create1(0), &e, 1, 1000000) == 0 && time(0) - start >= 2000);
    assert(select(0, 0, 0, 0, &tv) == 0 && time(0) - start >= 3000);
    sleep(100000);
    return time(0) - start < 103000;
}
