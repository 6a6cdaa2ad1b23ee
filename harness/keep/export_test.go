package keep

import "github.com/belay-hooks/belay"

// Break makes the disk fail under the file that is being written.
func Break(k belay.Keeper) bool {
	keeper := k.(*Keeper)
	keeper.mu.Lock()
	defer keeper.mu.Unlock()
	if keeper.file == nil {
		return false
	}
	_ = keeper.file.f.Close()
	return true
}
