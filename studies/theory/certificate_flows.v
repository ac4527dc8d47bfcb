(* certificate_flows.v: the order of a splitting by exact flows, for Coq: `coqc FILE` accepts it or does not. It needs
   Coq's standard library alone. `trotter schemes --certificate coq --scheme NAME` writes it with another splitting in
   the two places that lie between the words `begin` and `end`; all else is the same for every splitting.

   To know what is proved, read the definitions down to the word PROOFS, and the theorems at the end, which say that
   every word of at most `claimed` letters meets its order condition, and that the word `failing`, which has one letter
   more, does not. The proofs need no reading: Coq has checked them.

   With the derivative X_c along the field of each colour c, the exact flow of the sum is exp(h sum_c X_c), and the
   splitting is exp(a_1 h X_c1) exp(a_2 h X_c2) ... (Hairer, Lubich, Wanner 2006, "Geometric Numerical Integration",
   section III.5.1). So it has the order `claimed` on all smooth fields, and no higher one, where the two series in the
   letters X_c agree up to this degree and no further. This file does not prove that sentence. *)
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

Lemma computed : forallb (fun n => forallb meets (words n)) (seq 0 (S claimed)) = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

(* ==== THEOREMS ==== *)

(* Every condition up to the order that is claimed holds. *)
Theorem conditions_hold : forall w : list colour, (length w <= claimed)%nat -> condition w.
Proof.
  intros w L. apply meets_is. pose proof computed as C. rewrite forallb_forall in C.
  specialize (C (length w) ltac:(apply in_seq; lia)). rewrite forallb_forall in C.
  apply C, words_complete.
Qed.

(* One of the next order does not. *)
Theorem condition_fails : length failing = S claimed /\ ~ condition failing.
Proof.
  split; [ vm_compute; reflexivity | ]. intro E. apply meets_is in E.
  vm_compute in E. discriminate.
Qed.

(* There are so many words of 1, 2, ... letters: one condition each. *)
Theorem words_counted : map (fun n => length (words n)) (seq 1 claimed) = numbers.
Proof. vm_cast_no_check (eq_refl numbers). Qed.

(* What Coq prints: the statements, and that they rest on no axiom. *)
Print claimed.
Check conditions_hold.
Check condition_fails.
Print Assumptions conditions_hold.
Print Assumptions condition_fails.
