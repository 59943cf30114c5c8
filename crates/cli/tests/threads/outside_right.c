// Functions of libraries in programs that are right: what they do to memory is what they do without us.
// check: -DBODY=address()
// exit: 0
// check: -DBODY=message()
// exit: 0
// check: -DBODY=nowhere()
// exit: 0
// check: -DBODY=unwritable() -DOTHER=number() -DSIZE=1
// exit: 0
// not: segfault
// check: -DBODY=unwritable() -DOTHER=number() -DSIZE=4096
// exit: 0
// not: segfault
// check: -DBODY=number()
// exit: 0
// check: -DBODY=matched()
// exit: 0
// check: -DBODY=groups()
// exit: 0
// check: --checks data-races -DBODY=polled() -DOTHER=descriptor()
// exit: 0
// not: data-race
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <poll.h>
#include <pthread.h>
#include <regex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct in6_addr six;
static struct pollfd entry;
static int ends[2];
static char pattern[] = "a*";

/* Sixteen bytes, not four. */
static void address(void) {
  char out[64];
  assert(inet_ntop(AF_INET6, &six, out, sizeof out) && !strcmp(out, "2001:db8:1:2:3:4:5:6"));
}
/* The text is elsewhere: what it was given stays as it is. */
static void message(void) {
  char own[32] = "kept";
  assert(!strcmp(strerror_r(ENOENT, own, sizeof own), "No such file or directory") && !strcmp(own, "kept"));
}
static void nowhere(void) {
  assert(write(1, (void *)0x600000000000, 4) == -1 && errno == EFAULT);
}
/* What cannot be written is the kernel's to refuse, and nothing is lost. */
#ifndef SIZE
#define SIZE 1
#endif
static const char constant[4096] = "kept";
static void unwritable(void) {
  int own[2];
  char got[2] = "";
  assert(!pipe(own) && write(own[1], "x", 1) == 1);
  assert(read(own[0], (char *)constant, SIZE) == -1 && errno == EFAULT && !strcmp(constant, "kept"));
  assert(read(own[0], got, 1) == 1 && got[0] == 'x');
}
/* Registers that hold no argument hold anything. */
static void number(void) {
  syscall(SYS_gettid);
}
static void matched(void) {
  assert(!fnmatch(pattern, "abc", 0));
}
/* libc uses every register for what it likes. */
static void groups(void) {
  regex_t own;
  regmatch_t found[2];
  assert(!regcomp(&own, "a(b+)c", REG_EXTENDED) && !regexec(&own, "abbc", 2, found, 0) && found[1].rm_eo == 3);
  regfree(&own);
}
/* Of a descriptor that is polled only what became of it is written. */
static void polled(void) {
  assert(poll(&entry, 1, 0) == 1);
}
static void descriptor(void) {
  assert(entry.fd == ends[0]);
}
#ifndef OTHER
#define OTHER BODY
#endif

static void *one(void *unused) {
  BODY;
  return unused;
}
static void *other(void *unused) {
  OTHER;
  return unused;
}

int main(void) {
  assert(inet_pton(AF_INET6, "2001:db8:1:2:3:4:5:6", &six) == 1);
  assert(!pipe(ends) && write(ends[1], "x", 1) == 1);
  entry = (struct pollfd){.fd = ends[0], .events = POLLIN};
  pthread_t a, b;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, other, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  (void)address, (void)message, (void)nowhere, (void)unwritable, (void)number, (void)matched, (void)groups, (void)polled, (void)descriptor;
}
