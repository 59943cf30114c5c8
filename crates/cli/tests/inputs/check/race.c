#include <pthread.h>
static int x, noise[4];
static void touch(int *p, int by) {
  *p += by;
}
static void *w(void *a) {
  for (int i = 0; i < 3; i++)
    touch(&noise[i], 1);
  touch(&x, 1);
  return 0;
}
int main() {
  pthread_t p;
  pthread_create(&p, 0, w, 0);
  for (int i = 0; i < 2; i++)
    touch(&noise[3], 2);
  touch(&x, 2);
  pthread_join(p, 0);
  return 0;
}
