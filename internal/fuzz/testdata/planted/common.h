/* What the planted hooks share. Each of them is a guard of shells with one mistake. */
#include "belay.h"

static inline bool has(const char *text, uint32_t n, const char *word, uint32_t w) {
  for (uint32_t i = 0; i + w <= n; i++) {
    uint32_t j = 0;
    while (j < w && text[i + j] == word[j]) j++;
    if (j == w) return true;
  }
  return false;
}

#define COMMAND "/args/command", 13
