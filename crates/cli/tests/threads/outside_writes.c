// Functions of libraries write memory that another thread reads: stores of the thread that calls them, like any other.
// check: --checks data-races -DCALL=time(&b->number)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=time(&b->number) -DLOCKED
// exit: 0
// check: --checks data-races -DCALL=time(&b->number) -DOWN
// exit: 0
// check: --checks data-races -DCALL=clock_gettime(CLOCK_MONOTONIC,&b->moment)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=clock_gettime(CLOCK_MONOTONIC,&b->moment) -DLOCKED
// exit: 0
// check: --checks data-races -DCALL=gettimeofday(&b->day,0)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=localtime_r(&second,&b->date)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=gmtime_r(&second,&b->date)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=mktime(&b->date)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=strftime(b->text,sizeof(b->text),"%Y",&date)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=asctime_r(&date,b->text)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=ctime_r(&second,b->text)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=read(open("/dev/zero",O_RDONLY),b->text,4)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=read(open("/dev/zero",O_RDONLY),b->text,4) -DLOCKED
// exit: 0
// check: --checks data-races -DCALL=read(open("/dev/zero",O_RDONLY),b->text,4) -DOWN
// exit: 0
// check: --checks data-races -DCALL=pread(open("/dev/zero",O_RDONLY),b->text,4,0)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=scattered(b->text)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=scattered(b->text) -DLOCKED
// exit: 0
// check: --checks data-races -DCALL=stat("/",&b->status)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=fstat(0,&b->status)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=fstatat(AT_FDCWD,"/",&b->status,0)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=getcwd(b->text,sizeof(b->text))
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=readlink("/proc/self/exe",b->text,8)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=mbstowcs(b->wide,"ab",4)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=wcstombs(b->text,L"ab",4)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=mbrtowc(0,"a",1,&b->state)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=frexp(value,(int*)b->text)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=modf(value,&b->real)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=(sincos(value,&b->real,&b->real),0) -lm
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=remquo(value,2.0,(int*)b->text) -lm
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=pipe((int*)b->text)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=getrandom(b->text,4,0)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=getentropy(b->text,4)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=uname(&b->system)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=getrlimit(RLIMIT_STACK,&b->limit)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=gethostname(b->text,sizeof(b->text))
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=sigemptyset(&b->signals)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=sigprocmask(SIG_BLOCK,0,&b->signals)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=sigaction(SIGUSR1,0,&b->action)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=sscanf("7","%d",(int*)b->text)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=sscanf("7","%d",(int*)b->text) -DLOCKED
// exit: 0
// check: --checks data-races -DCALL=sscanf("abc","%s",b->text)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=strtol("12",(char**)b->text,10)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=rand_r((unsigned*)b->text)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=write(1,b->text,2) -DWRITES
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=write(1,b->text,2)
// exit: 0
// check: --checks data-races -DCALL=syscall(SYS_read,open("/dev/zero",O_RDONLY),b->text,4)
// exit: 100
// finds: data-race on `shared
// check: --checks data-races -DCALL=syscall(SYS_read,open("/dev/zero",O_RDONLY),b->text,4) -DLOCKED
// exit: 0
// check: --checks data-races -DCALL=lined((char**)b->text)
// exit: 100
// finds: data-race on `shared
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
union buffer {
  char text[64];
  long number;
  struct timespec moment;
  struct timeval day;
  struct tm date;
  struct stat status;
  wchar_t wide[16];
  mbstate_t state;
  double real;
  struct utsname system;
  struct rlimit limit;
  sigset_t signals;
  struct sigaction action;
};
static union buffer shared, own;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static time_t second = 1000;
static struct tm date = {.tm_year = 100, .tm_mday = 1};
static volatile double value = 2.5;
#ifdef OWN
#define b (&own)
#else
#define b (&shared)
#endif
static int scattered(char *to) {
  struct iovec parts[2] = {{to + 8, 2}, {to, 2}};
  return (int)readv(open("/dev/zero", O_RDONLY), parts, 2);
}
static int lined(char **to) {
  size_t room = 0;
  FILE *file = fopen("/etc/passwd", "r");
  return file ? (int)getline(to, &room, file) : 0;
}
static void *calls(void *unused) {
#ifdef LOCKED
  pthread_mutex_lock(&lock);
#endif
  (void)(CALL);
#ifdef LOCKED
  pthread_mutex_unlock(&lock);
#endif
  return unused;
}
int main(void) {
  (void)scattered, (void)lined, (void)own, (void)date, (void)second, (void)value;
  pthread_t thread;
  pthread_create(&thread, 0, calls, 0);
#ifdef LOCKED
  pthread_mutex_lock(&lock);
#endif
#ifdef WRITES
  shared.text[1] = 'b';
#endif
  (void)*(volatile char *)shared.text;
#ifdef LOCKED
  pthread_mutex_unlock(&lock);
#endif
  pthread_join(thread, 0);
  return 0;
}
