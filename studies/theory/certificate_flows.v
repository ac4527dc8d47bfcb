(* certificate_flows.v: the order of a splitting by exact flows, for Coq: `coqc FILE` accepts it or does not. It needs
   Coq's standard library alone. `trotter schemes --certificate coq --scheme NAME` writes it with another splitting in
   the places that lie between the words `begin` and `end`; all else is the same for every splitting.

   To know what is proved, read the definitions down to the word PROOFS, and the theorems at the end, which say that
   every word of at most `claimed` letters meets its order condition, that the word `failing`, which has one letter
   more, does not, and that the brackets `error` are, up to `letters` letters, all that the logarithm of a step has
   besides the field. The proofs need no reading: Coq has checked them.

   With the derivative X_c along the field of each colour c, the exact flow of the sum is exp(h sum_c X_c), and the
   splitting is exp(a_1 h X_c1) exp(a_2 h X_c2) ... (Hairer, Lubich, Wanner 2006, "Geometric Numerical Integration",
   section III.5.1). So it has the order `claimed` on all smooth fields, and no higher one, where the two series in the
   letters X_c agree up to this degree and no further. This file does not prove that sentence, nor that a series without
   a constant term has an exponential of its own, so that what has the step as its exponential is the step's logarithm. *)
Require Import QArith List Lia.
Import ListNotations.
Open Scope Q_scope.

(* ==== DEFINITIONS ==== *)

(* The equation is y' = f(y), where f is the sum of one field for each colour. *)
(* begin *)
Inductive colour := F | G.
Definition colours : list colour := [F; G].
(* end *)

(* The flows in the order of time: each goes along the field of its colour for a fraction of the step. *)
(* begin *)
Definition scheme : list (colour * Q) :=
  [ (F, 1 # 2); (G, 1 # 1); (F, 1 # 2) ].
Definition claimed : nat := 2.
Definition numbers : list nat := [2; 4]%nat.
Definition failing : list colour := [F; F; G].
(* end *)

(* A bracket is a letter or a commutator. That of two fields, [F,G] = G'F - F'G, is the one of their derivatives, X_F X_G - X_G
   X_F. *)
Inductive bracket := Letter (c : colour) | Commutator (x y : bracket).
Coercion Letter : colour >-> bracket.

(* The brackets of the error through this number of letters: log(step)/h less the field, with h = 1. *)
(* begin *)
Definition letters : nat := 3.
Definition error : list (Q * bracket) :=
  [ (-1 # 24, Commutator F (Commutator F G)); (1 # 12, Commutator (Commutator F G) G) ].
(* end *)

Definition same (x y : colour) : {x = y} + {x <> y}.
Proof. decide equality. Defined.

Definition only (c : colour) (w : list colour) : bool :=
  forallb (fun x => if same x c then true else false) w.

Definition sum (v : list Q) : Q := fold_right (fun x y => Qred (x + y)) 0 v.

(* The coefficient of a word in exp(a_1 X_c1) exp(a_2 X_c2) ...: the first exponential gives the first n letters, which
   must all be X_c1, and the factor a_1^n / n!; the others give the rest. *)
Fixpoint coefficient (flows : list (colour * Q)) (w : list colour) : Q :=
  match flows with
  | [] => match w with [] => 1 | _ => 0 end
  | (c, a) :: others =>
      sum (map (fun n => if only c (firstn n w)
                         then a ^ Z.of_nat n * (1 # Pos.of_nat (fact n))
                              * coefficient others (skipn n w)
                         else 0)
               (seq 0 (S (length w))))
  end.

(* In exp(sum_c X_c) a word of n letters has 1/n!. *)
Definition condition (w : list colour) : Prop :=
  coefficient scheme w == 1 # Pos.of_nat (fact (length w)).

Fixpoint size (x : bracket) : nat :=
  match x with Letter _ => 1 | Commutator x y => size x + size y end.

(* The coefficient of a word in a bracket: x y has the product of those of its first letters in x and of the others in y. *)
Fixpoint expanded (x : bracket) (w : list colour) : Q :=
  match x with
  | Letter c => match w with [d] => if same c d then 1 else 0 | _ => 0 end
  | Commutator x y => expanded x (firstn (size x) w) * expanded y (skipn (size x) w)
                      - expanded y (firstn (size y) w) * expanded x (skipn (size y) w)
  end.

(* The logarithm as it is claimed, sum_c X_c and the brackets, of which those of as many letters have the word. *)
Definition logarithm (w : list colour) : Q :=
  (if (length w =? 1)%nat then 1 else 0)
  + sum (map (fun e => if (size (snd e) =? length w)%nat then fst e * expanded (snd e) w else 0)
             error).

(* Its powers: the first factor gives the first n letters, at least one of them. *)
Fixpoint power (k : nat) (w : list colour) : Q :=
  match k with
  | O => match w with [] => 1 | _ => 0 end
  | S j => sum (map (fun n => logarithm (firstn n w) * power j (skipn n w)) (seq 1 (length w)))
  end.

Definition exponential (w : list colour) : Q :=
  sum (map (fun k => (1 # Pos.of_nat (fact k)) * power k w) (seq 0 (S (length w)))).

(* ==== PROOFS ==== *)

(* All words of n letters. *)
Fixpoint words (n : nat) : list (list colour) :=
  match n with
  | O => [[]]
  | S m => flat_map (fun w => map (fun c => c :: w) colours) (words m)
  end.

Definition meets (w : list colour) : bool :=
  Qeq_bool (coefficient scheme w) (1 # Pos.of_nat (fact (length w))).

Lemma meets_is w : meets w = true <-> condition w.
Proof. unfold meets, condition. apply Qeq_bool_iff. Qed.

Lemma all_colours : forall c, In c colours.
Proof. destruct c; simpl; tauto. Qed.

Lemma words_complete : forall w, In w (words (length w)).
Proof.
  induction w as [ | c w IH]; cbn [length words]; [ now left | ].
  apply in_flat_map. exists w. split; [ assumption | ].
  apply (in_map (fun c => c :: w)), all_colours.
Qed.

Lemma every_word (P : list colour -> bool) n :
  forallb (fun n => forallb P (words n)) (seq 0 (S n)) = true ->
  forall w, (length w <= n)%nat -> P w = true.
Proof.
  intros C w L. rewrite forallb_forall in C.
  specialize (C (length w) ltac:(apply in_seq; lia)). rewrite forallb_forall in C.
  apply C, words_complete.
Qed.

Lemma computed : forallb (fun n => forallb meets (words n)) (seq 0 (S claimed)) = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

Definition agrees (w : list colour) : bool := Qeq_bool (coefficient scheme w) (exponential w).

Lemma agrees_is w : agrees w = true <-> coefficient scheme w == exponential w.
Proof. unfold agrees. apply Qeq_bool_iff. Qed.

Lemma computed_error : forallb (fun n => forallb agrees (words n)) (seq 0 (S letters)) = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

(* ==== THEOREMS ==== *)

(* Every condition up to the order that is claimed holds. *)
Theorem conditions_hold : forall w : list colour, (length w <= claimed)%nat -> condition w.
Proof. intros w L. now apply meets_is, (every_word meets _ computed). Qed.

(* One of the next order does not. *)
Theorem condition_fails : length failing = S claimed /\ ~ condition failing.
Proof.
  split; [ vm_compute; reflexivity | ]. intro E. apply meets_is in E.
  vm_compute in E. discriminate.
Qed.

(* The step is the exponential of the field and the brackets that are claimed, through so many letters. *)
Theorem error_is : forall w : list colour,
  (length w <= letters)%nat -> coefficient scheme w == exponential w.
Proof. intros w L. now apply agrees_is, (every_word agrees _ computed_error). Qed.

(* There are so many words of 1, 2, ... letters: one condition each. *)
Theorem words_counted : map (fun n => length (words n)) (seq 1 claimed) = numbers.
Proof. vm_cast_no_check (eq_refl numbers). Qed.

(* What Coq prints: the statements, and that they rest on no axiom. *)
Print claimed.
Check conditions_hold.
Check condition_fails.
Print letters.
Print error.
Check error_is.
Print Assumptions conditions_hold.
Print Assumptions condition_fails.
Print Assumptions error_is.
