# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
# Completion of gnictl's command line by bash.

# _gnictl_values KEY LIST: what is in a list of the driver's now.
_gnictl_values()
{
	gnictl -jp "$2" 2>/dev/null |
		sed -nE "s/^ *\"$1\": *\"?([^\",]*)\"?,?\$/\\1/p" | sort -u
}

_gnictl_devices()
{
	_gnictl_values device dev
}

_gnictl()
{
	local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} i
	local command='' words=''

	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]} && break; }
	done
	case $command:$previous in
	:*) words="dev bi job ntt proc mem cq ce session stat monitor event inject top dump help
		-j -p -d -V -h --json --pretty --details --version --help" ;;
	*:ptag) words=$(_gnictl_values ptag job) ;;
	*:pid) words=$(_gnictl_values pid proc) ;;
	dev:dev) words="show add del quiesce resume $(_gnictl_devices)" ;;
	dev:del | dev:quiesce | dev:resume | bi:set | job:add | job:del | job:suspend | job:resume | ntt:add | ntt:del)
		words=$(_gnictl_devices)
		;;
	dev:kgni*) [[ ${COMP_WORDS[COMP_CWORD - 2]} != del ]] || words=force ;;
	dev:*) words=$(_gnictl_devices) ;;
	bi:bi | ntt:ntt | job:job)
		words="show $([[ $command = bi ]] && echo set || echo add del) $(_gnictl_devices)"
		[[ $command != job ]] || words+=" suspend resume ptag"
		;;
	bi:*) [[ ${COMP_WORDS[*]} != *" set "* ]] || words="bw aot orbs default" ;;
	job:*)
		case " ${COMP_WORDS[*]}" in
		*" add "*) words="id cookie ptag mdd cq fma rdma iommu sfma ce dla mrt gart
			ntt clear" ;;
		*" suspend "*" ptag "*) words=timeout ;;
		*" del "* | *" suspend "* | *" resume "*) words=ptag ;;
		*) words="show ptag $(_gnictl_devices)" ;;
		esac
		;;
	ntt:kgni*)
		case ${COMP_WORDS[COMP_CWORD - 2]} in
		add) words="at size" ;;
		del) words=all ;;
		esac
		;;
	ntt:*) [[ ${COMP_WORDS[COMP_CWORD - 2]} != at ]] || words=size ;;
	proc:* | mem:* | cq:* | ce:* | session:*) words="show ptag pid $(_gnictl_devices)" ;;
	stat:stat) words="dev job proc $(_gnictl_devices)" ;;
	stat:*) words="ptag pid $(_gnictl_devices)" ;;
	monitor:*) words="all devices errors count" ;;
	event:*) words=count ;;
	inject:inject) words=$(_gnictl_devices) ;;
	inject:kgni*) words="memory-corrected memory diag" ;;
	inject:*) words=ptag ;;
	top:*) words="interval count $(_gnictl_devices)" ;;
	dump:dump)
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -F _gnictl gnictl
