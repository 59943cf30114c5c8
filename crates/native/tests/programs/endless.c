#include "../support/hooks.h"
int main(void) { for (;;) STEP(); }
