// Package hookbuild turns a hook's source directory into a module: it decides
// which language a directory is written in, finds that language's compiler, runs
// it with the settings that hooks need, and packs the manifest of belay.yaml into
// the result. It also starts new hooks from templates.
//
// It never judges a module (the sandbox does, when it loads one) and
// never downloads anything itself. Building runs compilers on the author's own
// source, with the author's rights; it is not for unread source.
package hookbuild
