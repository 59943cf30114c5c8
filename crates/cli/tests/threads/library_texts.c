// What functions of libc read and write of memory that threads share is seen like any other access.
// check: -DCALL=snprintf(text,16,"x%d",5)
// exit: 100
// finds: data-race on `text
// check: -DCALL=sprintf(text,"hi")
// exit: 100
// finds: data-race on `text
// check: -DCALL=printf("%.4s",text)
// exit: 100
// finds: data-race on `text
// check: -DCALL=puts(text)
// exit: 100
// finds: data-race on `text
// check: -DCALL=fputs(text,stdout)
// exit: 100
// finds: data-race on `text
// check: -DCALL=fwrite(text,1,4,stdout)
// exit: 100
// finds: data-race on `text
// check: -DCALL=printf("%s",(char*)0)
// exit: 0
// check: -DCALL=snprintf(own,sizeof(own),"%60000d%60000d",1,2)
// exit: 0
// check: -DCALL=snprintf(0,0,"%d",7)
// exit: 0
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
static char text[64] = "hello";
static char own[200000];
static void *other(void *unused) {
  (void)own;
  (void)CALL;
  if (own[0])
    assert(strlen(own) == 120000);
  return unused;
}
int main(void) {
  pthread_t t;
  pthread_create(&t, 0, other, 0);
  text[0] = 'j';
  pthread_join(t, 0);
  return 0;
}
