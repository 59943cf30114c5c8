/* run: --heap */
#include <stdlib.h>
int main(void) {
  char *text = malloc(10);
  char *longer = realloc(text, 20);
  longer[19] = 1;
  text[0] = 1;
  return 0;
}
