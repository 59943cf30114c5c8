// A system call on pool files is made where its thread is: registers survive it, a bad buffer fails it, and the next one works.
// check: --checks crash --pm-dir {pool} -DPOOL="{pool}"
// exit: 0
// check: --checks crash --pm-dir {pool} -DPOOL="{pool}" --model sc
// exit: 0
// check: --checks crash --pm-dir {pool} -DPOOL="{pool}" -DTOGETHER --runs 20
// exit: 0
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <landfall.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
static long size(const char *path) {
  // All that a system call leaves alone, the red zone included.
  struct stat about;
  long result = SYS_stat, wide = 0x1122334455667788, kept, red, r12 = 12;
  __asm__ volatile(
      "movq %[wide], %%xmm15\n movq %[wide], -64(%%rsp)\n mov %[twelve], %%r12\n"
      "syscall\n movq %%xmm15, %[kept]\n movq -64(%%rsp), %[red]\n mov %%r12, %[twelve]"
      : "+a"(result), [kept] "=&r"(kept), [red] "=&r"(red), [twelve] "+r"(r12)
      : "D"(path), "S"(&about), [wide] "r"(wide)
      : "rcx", "r11", "r12", "xmm15", "memory");
  assert(kept == wide && red == wide && r12 == 12);
  return result < 0 ? result : about.st_size;
}
static void *work(void *name) {
  char path[300] = POOL "/";
  strcat(path, name);
  assert(size(path) == -ENOENT);
  int fd = open(path, O_RDWR | O_CREAT, 0600);
  assert(write(fd, (void *)8, 8) < 0 && errno == EFAULT);
  assert(pwrite(fd, name, 1, 0) == 1 && size(path) >= 1);
  assert(flock(fd, LOCK_EX | LOCK_NB) == 0 && close(fd) == 0);
  return 0;
}
static int shared;
static void *look(void *mapped) {
  char text[2];
  for (int i = 0; i < 3; i++) assert(size(POOL "/one") == 1 && pread(shared, text, 2, 0) == 1);
  *(void **)mapped = mmap(0, 4096, PROT_READ, MAP_SHARED, shared, 0);
  return 0;
}
int main(void) {
  if (lf_failures()) return 0;
  pthread_t a, b;
  pthread_create(&a, 0, work, "one");
  pthread_join(a, 0);
#ifdef TOGETHER
  // Looking, reading and mapping do not get in each other's way: a few schedules.
  void *mapped[2];
  work("two");
  shared = open(POOL "/one", O_RDONLY);
  pthread_create(&b, 0, look, &mapped[1]);
  look(&mapped[0]);
  pthread_join(b, 0);
  assert(mapped[0] == mapped[1]);
#else
  pthread_create(&b, 0, work, "two");
  pthread_join(b, 0);
#endif
  DIR *directory = opendir(POOL);
  int files = 0;
  for (struct dirent *entry; (entry = readdir(directory));) files += entry->d_name[0] != '.';
  closedir(directory);
  assert(files == 2);
  return 0;
}
