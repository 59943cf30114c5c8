// Functions of libc read and sort memory that another thread writes.
// check: --checks data-races -DREADS=strcmp(text,"abc")
// exit: 100
// finds: data-race
// check: --checks data-races -DREADS=strncmp(text,"abc",3)
// exit: 100
// finds: data-race
// check: --checks data-races -DREADS=strcasecmp(text,"abc")
// exit: 100
// finds: data-race
// check: --checks data-races -DREADS=!strchr(text,'c')
// exit: 100
// finds: data-race
// check: --checks data-races -DREADS=!strrchr(text,'c')
// exit: 100
// finds: data-race
// check: --checks data-races -DREADS=!strstr(text,"c")
// exit: 100
// finds: data-race
// check: --checks data-races -DREADS=!memchr(text,'c',3)
// exit: 100
// finds: data-race
// check: --checks data-races -DREADS=atoi(text)
// exit: 100
// finds: data-race
// check: --checks data-races -DREADS=strtol(text,0,10)
// exit: 100
// finds: data-race
// check: --checks data-races -DREADS=sorted()
// exit: 100
// finds: data-race
// check: --checks data-races -DREADS=strcmp(text,"abc") -DLOCKED
// exit: 0
// check: --checks crash -DREADS=tokens()
// exit: 0
// check: -DREADS=tokens() -DWRITES=tokens()
// exit: 100
// finds: data-race
// check: -DREADS=own_tokens() -DWRITES=own_tokens()
// exit: 100
// finds: data-race on `strtok's own variable`
// check: -DREADS=tokens() -DWRITES=tokens() -DLOCKED
// exit: 0
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static char text[8] = "abc";
static int seen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int order(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }
static int sorted(void) {
  qsort(text, 3, 1, order);
  return 0;
}
// How far a token goes is decided while the other thread makes it shorter.
static int tokens(void) {
  char *token = strtok(text, "xc");
  return token ? (int)strlen(token) : 0;
}
// Not even where each has a text of its own.
static int own_tokens(void) {
  char own[] = "abc";
  char *token = strtok(own, "xc");
  return token ? (int)strlen(token) : 0;
}
static void enter(void) {
#ifdef LOCKED
  pthread_mutex_lock(&lock);
#endif
}
static void leave(void) {
#ifdef LOCKED
  pthread_mutex_unlock(&lock);
#endif
}
static void *reads(void *unused) {
  enter();
  seen = READS;
  leave();
  return unused;
}
static void *writes(void *unused) {
  enter();
#ifdef WRITES
  (void)WRITES;
#else
  text[0] = 'a';
  text[1] = 0;
#endif
  leave();
  return unused;
}
int main(void) {
  (void)sorted;
  (void)tokens;
  pthread_t a, b;
  pthread_create(&a, 0, reads, 0);
  pthread_create(&b, 0, writes, 0);
  pthread_join(a, 0);
  pthread_join(b, 0);
  return 0;
}
