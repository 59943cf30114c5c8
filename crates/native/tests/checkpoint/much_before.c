/* went on: yes. Main stores, prints, allocates and locks a lot before it creates threads, which use all of it. */
#include <landfall.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long *pm;
static long table[5000];
static long *list[64];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local long own;
static char text[400];

static void *work(void *argument) {
  long number = (long)argument;
  own += number + rand() % 5;
  char *fresh = malloc(100 + 50 * number);
  sprintf(fresh, "thread %ld, %ld\n", number, table[100 * number]);
  pthread_mutex_lock(&lock);
  strcat(text, fresh);
  table[number]++;
  list[number][3] = number;
  pthread_mutex_unlock(&lock);
  pm[8 * number] = table[number] + own;
  lf_persist(&pm[8 * number], 8);
  pm[1024] = number;
  free(list[10 + number]);
  printf("%ld\n", number);
  return fresh;
}

int main(void) {
  pm = lf_pm(1 << 20);
  srand(7);
  for (int i = 0; i < 5000; i++) table[i] = rand() + i;
  for (int i = 0; i < 64; i++) memset(list[i] = malloc(64 + 8 * i), i, 64);
  for (int i = 0; i < 40; i += 2) free(list[20 + i]);
  for (int i = 0; i < 300; i++) pm[2048 + i] = table[i];
  lf_persist(&pm[2048], 8 * 300);
  pthread_mutex_lock(&lock);
  own = 5;
  pthread_mutex_unlock(&lock);
  printf("before\n");
  if (lf_failures()) return pm[1024] > 2;
  pthread_t threads[2];
  for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, (void *)(i + 1));
  for (int i = 0; i < 2; i++) {
    void *said;
    pthread_join(threads[i], &said);
    fputs(said, stdout);
  }
  puts(text);
  return own != 5;
}
