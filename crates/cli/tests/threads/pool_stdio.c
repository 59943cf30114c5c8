// Streams of libc on pool files: what they hand to the kernel is what counts.
// check: --checks crash --pm-dir {pool} -DPOOL="{pool}"
// exit: 0
// check: --checks crash --pm-dir {pool} -DPOOL="{pool}" -DNOSYNC --model sc
// exit: 100
// finds: assertion `!strcmp(text, "hello 1\n")` is false
#include <assert.h>
#include <landfall.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static void *work(void *n) {
  char path[300]; snprintf(path, sizeof path, "%s/%ld", POOL, (long)n);
  FILE *f = fopen(path, "w+");
  fprintf(f, "hello %ld\n", (long)n);
  fflush(f);
#ifndef NOSYNC
  fsync(fileno(f));
#endif
  rewind(f);
  char text[20]; assert(fgets(text, 20, f) && text[6] == '0' + (long)n);
  fclose(f);
  char to[310]; snprintf(to, sizeof to, "%s.done", path);
  rename(path, to);
  return 0;
}
int main(void) {
  if (lf_failures()) {
    FILE *f = fopen(POOL "/1.done", "r");
    if (f) { char text[20] = ""; fgets(text, 20, f); assert(!strcmp(text, "hello 1\n")); }
    return 0;
  }
  pthread_t a;
  pthread_create(&a, 0, work, (void*)1);
  pthread_join(a, 0);
  return 0;
}
