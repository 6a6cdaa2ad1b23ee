/* A real hook in C: blocks rm -rf /, annotates what it saw. */
#include "belay.h"

BELAY_PHASE(pre_tool) {
  belay_text command = belay_input_text(BELAY_T("/args/command"));
  if (belay_find(command, BELAY_T("rm -rf /")) >= 0)
    belay_block(BELAY_T("no recursive removal of the root"));
  else
    belay_annotate_text(BELAY_T("seen"), command);
  return BELAY_OK;
}
