// Code that no file holds: there is no library to name.
// check: --checks crash
// exit: 0
// note: code that was not there when the program started
#include <landfall.h>
#include <string.h>
#include <sys/mman.h>
int main(void) {
  long *there = lf_pm(64);
  if (lf_failures())
    return 0;
  const unsigned char code[] = {0x48, 0x89, 0x37, 0xc3}; /* mov %rsi, (%rdi); ret */
  void *made = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(made, code, sizeof code);
  ((void (*)(long *, long))made)(there, 7);
  lf_persist(there, 8);
  return 0;
}
